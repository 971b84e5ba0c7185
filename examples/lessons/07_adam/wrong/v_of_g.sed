# The square is forgotten.
s/\* g\[i\] \* g\[i\]/* g[i]/
