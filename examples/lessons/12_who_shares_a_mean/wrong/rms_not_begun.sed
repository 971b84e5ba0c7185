# TODO 1 only.
s/y->data\[r \* N + i\] = .*;/;/
