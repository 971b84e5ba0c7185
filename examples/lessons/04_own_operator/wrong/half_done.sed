# TODO 2 is left.
s/i < n->in\[0\]->len/i < 0/
