# No slope.
s/dn\[j\] = dh\[j\] \* o \* (1 - T \* T)/dn[j] = dh[j] * o/
