# i for both, in backward.
s/const gr_real v = s + /const gr_real s = n->in[1]->data[i], v = s + /
