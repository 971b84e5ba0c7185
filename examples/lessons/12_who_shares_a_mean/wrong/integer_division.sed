# 1 / N of integers.
s/ms += x->data\[r \* N + i\] \* x->data\[r \* N + i\] \/ N/ms += 1 \/ N * (x->data[r * N + i] * x->data[r * N + i])/
