# The sum of squares.
s/ \* (x->data\[r \* N + i\] - mean) \/ N;/ * (x->data[r * N + i] - mean);/
