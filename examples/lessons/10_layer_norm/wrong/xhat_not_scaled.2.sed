# xhat without rstd, everywhere in backward.
s/xhat = (x\[r \* N + i\] - mean) \* rstd/xhat = x[r * N + i] - mean/
