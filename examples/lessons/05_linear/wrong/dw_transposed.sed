# x^T dy.
s/dw\[o \* I + i\] +=/dw[i * O + o] +=/
