# The step is a fraction of x.
s/1e-5 \* fmax(1, fabs(x))/1e-5 * fabs(x)/
