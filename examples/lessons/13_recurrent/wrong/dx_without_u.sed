# da for da * u.
s/dx\[t\] += da \* p->u/dx[t] += da/
