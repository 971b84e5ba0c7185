# The gradient of the sum.
s/ - target) \/ s->rows/ - target)/
