# No cell.
s/dc\[j\] \* c_prev\[j\] \* f/dc[j] * f/
