# h[t] for h[t-1].
s/p->w \* h\[t - 1\] +/p->w * h[t] +/
