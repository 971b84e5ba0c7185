# One v.
s/dy\[i\] \* s \/ (v \* v)/dy[i] * s \/ v/
