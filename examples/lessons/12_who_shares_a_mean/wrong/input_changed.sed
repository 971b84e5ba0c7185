# x is normalized in place.
s/(x->data\[r \* N + i\] \* s.rstd\[r\]);/(x->data[r * N + i] * s.rstd[r]), x->data[r * N + i] = 0;/
