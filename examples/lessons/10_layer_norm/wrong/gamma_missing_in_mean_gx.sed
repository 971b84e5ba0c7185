# dy for g in the second mean.
s/mean_gx += g \*/mean_gx += dy[r * N + i] */
