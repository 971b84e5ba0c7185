# w as [in, out].
s/w\[o \* in + i\]/w[i * out + o]/
