# dx from x.
s/g \* w\[o \* I + i\]/g * x[r * I + i]/
