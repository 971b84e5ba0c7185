# No f.
s/dc_prev\[j\] = dc\[j\] \* f/dc_prev[j] = dc[j]/
