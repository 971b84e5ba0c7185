# x without its weight.
s/p->u \* x\[t\] + p->b/x[t] + p->b/
