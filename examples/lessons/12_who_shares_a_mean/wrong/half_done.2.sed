# rstd is a variable of forward, and is not kept.
s/s.rstd\[r\] = 1/const gr_real rstd = 1/; s/x->data\[r \* N + i\] \* s.rstd\[r\]/x->data[r * N + i] * rstd/
