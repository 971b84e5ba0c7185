# The mean square is kept.
s/s.rstd\[r\] = 1 \/ sqrt(ms + eps)/s.rstd[r] = ms + eps/; s/x->data\[r \* N + i\] \* s.rstd\[r\]/x->data[r * N + i] \/ sqrt(s.rstd[r])/
