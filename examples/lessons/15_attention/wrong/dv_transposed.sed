# p transposed.
s/^\( *\)dv\[j \* d + c\] += p\[i \* T + j\] \* dy\[i \* d + c\];/\1dv[i * d + c] += p[i * T + j] * dy[j * d + c];/
