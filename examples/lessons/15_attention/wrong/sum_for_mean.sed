# A sum without weights.
s/mean += p\[i \* T + j\] \*/mean +=/
