# += as for all gradients, and dy is added where the tanh needs it.
s/^ *dh += dy\[t\];//; s/da = dh \*/da = (dy[t] + dh) */
s/dh = da \* p->w;/dh += da * p->w;/
