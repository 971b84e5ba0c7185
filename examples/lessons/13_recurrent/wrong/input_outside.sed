# The tanh of the state alone.
s/tanh(p->w \* h\[t - 1\] + p->u \* x\[t\] + p->b)/tanh(p->w * h[t - 1]) + p->u * x[t] + p->b/
