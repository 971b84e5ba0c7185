# The root of the sum, and eps beside it.
s/x->data\[r \* N + i\] \/ N;/x->data[r * N + i];/; s/1 \/ sqrt(ms + eps)/1 \/ (sqrt(ms) \/ N + eps)/
