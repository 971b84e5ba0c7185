# = for +=.
s/dx\[r \* I + i\] += /dx[r * I + i] = /
