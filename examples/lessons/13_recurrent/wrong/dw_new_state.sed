# The new state in place of the old one.
s/da \* h\[t - 1\];/da * h[t];/
