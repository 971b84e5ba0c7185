# The mean over rows in place of the sum.
s/g \* x\[r \* I + i\]/g * x[r * I + i] \/ rows/
