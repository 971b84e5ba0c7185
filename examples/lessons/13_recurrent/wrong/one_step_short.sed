# The gradient of h[1] is returned.
s/dh = da \* p->w;/if (t > 1) dh = da * p->w;/
