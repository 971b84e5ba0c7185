# No absolute value.
s/1e-5 \* fmax(1, fabs(x))/1e-5 * (fabs(x) < 1 ? 1 : x)/
