# Two mistakes at once, in forward.
s/p->w \* h\[t - 1\] + p->u \* x\[t\] + p->b/p->u * h[t - 1] + p->w * x[t]/
