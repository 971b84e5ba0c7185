# The new cell.
s/dc\[j\] \* c_prev\[j\]/dc[j] * c[j]/
