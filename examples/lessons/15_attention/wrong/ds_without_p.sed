# No p.
s/p\[i \* T + j\] \* (dp - mean)/(dp - mean)/
