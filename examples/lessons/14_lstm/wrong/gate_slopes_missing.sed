# The gradients of the gates, not of a.
s/ \* i \* (1 - i)//; s/ \* f \* (1 - f)//; s/ \* o \* (1 - o)//
