# The brackets are forgotten.
s/ \/ (s->data\[0\] + fabs(x->data\[i\]))/ \/ s->data[0] + fabs(x->data[i])/
