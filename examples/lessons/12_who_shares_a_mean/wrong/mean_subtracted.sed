# LayerNorm.
s/^        gr_real ms = 0;/        gr_real ms = 0, mean = 0;\n        for (size_t i = 0; i < N; i++) mean += x->data[r * N + i] \/ N;/
s|ms += x->data\[r \* N + i\] \* x->data\[r \* N + i\]|ms += (x->data[r * N + i] - mean) * (x->data[r * N + i] - mean)|
s/(x->data\[r \* N + i\] \* s.rstd/((x->data[r * N + i] - mean) * s.rstd/
