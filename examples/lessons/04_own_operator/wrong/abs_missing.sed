# x in place of its absolute value.
s/(s->data\[0\] + fabs(x->data\[i\]))/(s->data[0] + x->data[i])/
