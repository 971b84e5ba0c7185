# 1/N of the page, for the mean.
s|mean += x->data\[r \* C + c\] / rows|mean += 1 / rows * x->data[r * C + c]|
