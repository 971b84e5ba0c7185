# = for +=.
s/dw\[o \* I + i\] += /dw[o * I + i] = /
