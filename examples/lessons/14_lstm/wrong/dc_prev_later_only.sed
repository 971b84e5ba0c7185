# The carried part alone.
s/dc_prev\[j\] = dc\[j\] \* f/dc_prev[j] = dc_later[j] * f/
