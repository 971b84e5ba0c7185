# dy for g in both means.
s/mean_g += g /mean_g += dy[r * N + i] /; s/mean_gx += g \*/mean_gx += dy[r * N + i] */
