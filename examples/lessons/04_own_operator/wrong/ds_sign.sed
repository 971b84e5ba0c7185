# The minus is lost.
s/ds\[0\] -=/ds[0] +=/
