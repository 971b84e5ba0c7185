# The smaller the step, the better.
s/return 1e-5 \* fmax/return 1e-13 * fmax/
