# No weight.
s/dv\[j \* d + c\] += p\[i \* T + j\] \* /dv[j * d + c] += /
