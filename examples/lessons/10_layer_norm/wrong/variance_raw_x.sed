# x for xhat.
s/mean_gx += g \* xhat/mean_gx += g * x[r * N + i]/; s/- xhat \* mean_gx/- x[r * N + i] * mean_gx/
