# A hundredth is small enough.
s/return 1e-5 \* fmax/return 1e-2 * fmax/
