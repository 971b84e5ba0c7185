# dy for g.
s/mean_gx += gamma\[i\] \* dy/mean_gx += dy/; s/g = gamma\[i\] \* dy/g = dy/; s/(void)dx//
