# h[0] in every step.
s/p->w \* h\[t - 1\] + /p->w * h[0] + /
