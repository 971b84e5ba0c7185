# dy for g, in the mean.
s/mean_gx += gamma\[i\] \* dy/mean_gx += dy/
