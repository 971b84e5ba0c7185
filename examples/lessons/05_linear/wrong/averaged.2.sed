# The mean over rows in place of the sum.
s/db\[o\] += g/db[o] += g \/ rows/
