# += as for all gradients.
s/dh = da \* p->w;/dh += da * p->w;/
