# As an unbiased variance.
s|x->data\[r \* N + i\] / N;|x->data[r * N + i] / (N - 1);|
