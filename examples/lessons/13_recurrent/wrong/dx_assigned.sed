# = for +=.
s/dx\[t\] +=/dx[t] =/
