# u for w.
s/dh = da \* p->w;/dh = da * p->u;/
