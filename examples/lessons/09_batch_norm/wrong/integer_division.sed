# The formula of the page: 1/N times the sum.
s|mean += x->data\[r \* C + c\] / rows|mean += 1 / rows * x->data[r * C + c]|
s|var += \(.*\) / rows;|var += 1 / rows * \1;|
