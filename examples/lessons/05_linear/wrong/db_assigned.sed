# = for +=.
s/db\[o\] += g/db[o] = g/
