# float functions.
s/fabs(x->data\[i\])/fabsf(x->data[i])/
