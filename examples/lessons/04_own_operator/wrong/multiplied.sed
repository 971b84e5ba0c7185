# A product.
s/x->data\[i\] \/ (s/x->data[i] * (s/
