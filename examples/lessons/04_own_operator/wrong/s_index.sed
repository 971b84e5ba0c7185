# i for both, in forward.
s/ \/ (s->data\[0\]/ \/ (s->data[i]/
