# fmax alone.
s/fmax(1, fabs(x))/fmax(1, x)/
