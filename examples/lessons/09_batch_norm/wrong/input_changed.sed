# x is normalized in place.
s/s.rstd\[c\]) + beta->data\[c\];/s.rstd[c]) + beta->data[c], x->data[r * C + c] = 0;/
