# x for xhat, in the mean.
s/\* x\[r \* N + i\] \* rstd \/ N/* x[r * N + i] \/ N/
