# x is normalized instead.
s/w\[k\] \*= factor;/w[k] *= factor, *(double *)(x + k) *= factor;/
