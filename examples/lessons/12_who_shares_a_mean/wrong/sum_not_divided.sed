# The length of the row.
s|x->data\[r \* N + i\] / N;|x->data[r * N + i];|
