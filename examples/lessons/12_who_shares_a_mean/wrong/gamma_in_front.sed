# gamma * rstd * (dy - xhat * mean(dy * xhat)).
s/mean_gx += gamma\[i\] \* dy/mean_gx += dy/; s/+= rstd \* (g - xhat \* mean_gx)/+= gamma[i] * rstd * (dy[r * N + i] - xhat * mean_gx)/
