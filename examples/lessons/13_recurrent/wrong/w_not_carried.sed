# The factor w is forgotten.
s/dh = da \* p->w/dh = da/
