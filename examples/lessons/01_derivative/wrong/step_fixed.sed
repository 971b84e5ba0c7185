# One step for all x.
s/1e-5 \* fmax(1, fabs(x))/x == x ? 1e-5 : 0/
