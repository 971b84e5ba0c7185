# x for xhat, once.
s/ - xhat \* mean_gx/ - x[r * N + i] * mean_gx/
