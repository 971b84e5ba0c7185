# The brackets are wrong.
s/\* ((x->data\[r \* N + i\] - mean) \* rstd) + beta->data\[i\]/* ((x->data[r * N + i] - mean) * rstd + beta->data[i])/
