# The length is the first size.
s/i < x->len/i < x->dim[0]/
