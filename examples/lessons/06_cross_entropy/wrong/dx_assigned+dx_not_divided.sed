# Two mistakes at once.
s/c\] += g/c] = g/; s/ - target) \/ s->rows/ - target)/
