# w is taken for the weight of x.
s/p->w \* h\[t - 1\] + p->u \* x\[t\]/p->u * h[t - 1] + p->w * x[t]/
