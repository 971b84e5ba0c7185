# The sum of beta.
s/b\[o\] += w\[o \* in + i\] \* beta\[i\]/b[o] += beta[i]/
