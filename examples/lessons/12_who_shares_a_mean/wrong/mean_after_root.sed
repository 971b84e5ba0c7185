# The root of the sum.
s/x->data\[r \* N + i\] \/ N;/x->data[r * N + i];/; s/1 \/ sqrt(ms + eps)/N \/ sqrt(ms + eps)/
