# = in the sum.
s/sum += x->data/sum = x->data/
