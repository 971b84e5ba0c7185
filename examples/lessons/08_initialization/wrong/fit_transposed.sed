# W by columns.
s/w\[o \* in + i\]/w[i * out + o]/
