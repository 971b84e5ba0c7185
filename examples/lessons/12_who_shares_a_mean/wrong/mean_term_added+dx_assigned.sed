# Two mistakes at once.
s/gr_real mean_gx = 0;/gr_real mean_gx = 0, mean_g = 0;/; s/mean_gx += gamma/mean_g += gamma[i] * dy[r * N + i] \/ N, &/; s/(g - xhat/(g - mean_g - xhat/
s/dx\[r \* N + i\] +=/dx[r * N + i] =/
