# The slope for s = 1.
s/dy\[i\] \* s \/ (v \* v)/dy[i] \/ (v * v)/
