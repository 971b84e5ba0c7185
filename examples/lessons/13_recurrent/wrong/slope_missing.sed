# No slope.
s/dh \* (1 - h\[t\] \* h\[t\])/dh/
