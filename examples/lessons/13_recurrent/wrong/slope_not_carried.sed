# dh for da.
s/dh = da \* p->w;/dh = dh * p->w;/
