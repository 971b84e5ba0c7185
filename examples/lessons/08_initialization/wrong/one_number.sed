# The index is forgotten.
s/u\[i\] - 1/u[0] - 1/
