# No b.
s/ + p->b)/)/
