# The same transpose as in forward.
s/g \* w\[o \* I + i\]/g * w[i * O + o]/
