# An index beyond the end.
s/y->data\[i\] = x/y->data[i + 100000000] = x/
