# The state without its weight.
s/p->w \* h\[t - 1\] +/h[t - 1] +/
