# dy[j] for dy[i].
s/dv\[j \* d + c\] += p\[i \* T + j\] \* dy\[i \* d + c\]/dv[j * d + c] += p[i * T + j] * dy[j * d + c]/
