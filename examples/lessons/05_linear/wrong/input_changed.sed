# The bias is added into x.
s/y->data\[r \* O + o\] = sum;/&\n            x->data[0] += 1;/
