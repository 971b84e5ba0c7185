# a for its sigmoid.
s/i \* (1 - i)/a[j] * (1 - a[j])/; s/f \* (1 - f)/a[H + j] * (1 - a[H + j])/; s/o \* (1 - o)/a[3 * H + j] * (1 - a[3 * H + j])/
