# y is taken for 0.
s/^            y\[i \* d + c\] = 0;//
