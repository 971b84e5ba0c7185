# Two mistakes at once, in dx.
s/dx\[t\] += da \* p->u/dx[t] = da * p->w/
