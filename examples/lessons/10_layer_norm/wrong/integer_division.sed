# The formula of the page: 1/N times the sum.
s|mean += x->data\[r \* N + i\] / N|mean += 1 / N * x->data[r * N + i]|
s|var += \(.*\) / N;|var += 1 / N * \1;|
