# beta is added as it is.
s/b\[o\] += w\[o \* in + i\] \* beta\[i\]/b[o] += i == 0 ? beta[o] : 0/
