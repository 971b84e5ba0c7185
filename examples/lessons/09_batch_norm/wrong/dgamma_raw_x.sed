# x in place of xhat.
s/sum_x += dy\[r \* C + c\] \* xhat;/sum_x += dy[r * C + c] * xhat, raw += dy[r * C + c] * x[r * C + c];/
s/gr_real sum = 0, sum_x = 0;/gr_real sum = 0, sum_x = 0, raw = 0;/
s/dgamma\[c\] += sum_x/dgamma[c] += raw/
