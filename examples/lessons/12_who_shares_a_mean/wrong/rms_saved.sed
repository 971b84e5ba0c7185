# The RMS is kept, and backward multiplies by it.
s/s.rstd\[r\] = 1 \/ sqrt(ms + eps)/s.rstd[r] = sqrt(ms + eps)/; s/x->data\[r \* N + i\] \* s.rstd\[r\]/x->data[r * N + i] \/ s.rstd[r]/
