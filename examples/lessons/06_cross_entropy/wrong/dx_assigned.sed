# = for +=.
s/c\] += g/c] = g/
