# s is 1.
s/(s->data\[0\] + fabs/(1 + fabs/
