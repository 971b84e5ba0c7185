# x begins at 0.
s/p->u \* x\[t\] + p->b/p->u * x[t - 1] + p->b/
