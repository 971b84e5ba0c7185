# c in place of tanh(c).
s/= dh\[j\] \* T \* o/= dh[j] * n[j] * o/
