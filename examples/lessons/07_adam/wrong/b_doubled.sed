# += for =.
s/b\[i\] = mu/b[i] += mu/
