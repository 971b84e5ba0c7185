# The sum is multiplied by 1/N after the loop.
s|mean += x->data\[r \* C + c\] / rows;|mean += x->data[r * C + c];\n            mean *= 1 / rows;|
