# As in momentum.
s/m\[i\] + (1 - beta1) \* g/m[i] + g/
