# A mean.
s/x\[i\] \/ (v \* v)/x[i] \/ (v * v) \/ n->in[0]->len/
