# No gamma.
s/= gamma->data\[i\] \* (/= (/
