# A norm over three axes.
s/f(t, x)), 1, NULL/f(t, x)), 3, NULL/
