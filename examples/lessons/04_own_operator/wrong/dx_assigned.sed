# = for +=.
s/dx\[i\] +=/dx[i] =/
