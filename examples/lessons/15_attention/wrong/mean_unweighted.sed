# A plain mean.
s/mean += p\[i \* T + j\] \* dy\[i \* d + c\] \* v\[j \* d + c\]/mean += dy[i * d + c] * v[j * d + c] \/ (i + 1)/
