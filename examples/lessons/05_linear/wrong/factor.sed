# A half.
s/+= g \* w\[o \* I + i\]/+= 0.5 * g * w[o * I + i]/
