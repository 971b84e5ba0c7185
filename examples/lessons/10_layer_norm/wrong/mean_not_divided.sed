# The sum of x.
s/mean += x->data\[r \* N + i\] \/ N/mean += x->data[r * N + i]/
