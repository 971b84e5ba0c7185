# x for xhat.
s/\* x\[r \* N + i\] \* rstd \/ N/* x[r * N + i] \/ N/; s/ - xhat \* mean_gx/ - x[r * N + i] * mean_gx/
