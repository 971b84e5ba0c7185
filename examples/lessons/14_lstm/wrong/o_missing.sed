# No o.
s/dh\[j\] \* o \* (1 - T/dh[j] * (1 - T/
