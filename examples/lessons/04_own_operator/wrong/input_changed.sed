# |x| is written into x.
s/^        const gr_real v = .*/&\n        n->in[0]->data[i] = fabs(x[i]);/
