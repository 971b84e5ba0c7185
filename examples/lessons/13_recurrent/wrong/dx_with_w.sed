# w for u.
s/dx\[t\] += da \* p->u/dx[t] += da * p->w/
