# dy for g in the first mean.
s/mean_g += g /mean_g += dy[r * N + i] /
