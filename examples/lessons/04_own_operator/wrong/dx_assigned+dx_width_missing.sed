# = for +=, and the slope for s = 1.
s/dx\[i\] +=/dx[i] =/
s/dy\[i\] \* s \/ (v \* v)/dy[i] \/ (v * v)/
