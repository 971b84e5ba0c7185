# The row is forgotten.
s/dx\[r \* I + i\]/dx[i]/
