# The bias is summed over rows first, and then assigned.
s/db\[o\] += g/db[o] = (r ? db[o] : 0) + g/
