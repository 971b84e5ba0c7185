# = for +=.
s/dx\[r \* C + c\] +=/dx[r * C + c] =/
