# The width of the interval is a.
s/(2 \* u\[i\] - 1)/(u[i] - 0.5)/
