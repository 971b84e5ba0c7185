# 1/N of the page, for the mean.
s|mean += x->data\[r \* N + i\] / N|mean += 1 / N * x->data[r * N + i]|
