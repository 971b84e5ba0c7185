# A division by 0.
s/return 1e-5 \* fmax/return x \/ fabs(x) * 1e-5 * fmax/
