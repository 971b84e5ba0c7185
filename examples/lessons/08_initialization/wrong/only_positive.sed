# From 0 to a.
s/(2 \* u\[i\] - 1)/u[i]/
