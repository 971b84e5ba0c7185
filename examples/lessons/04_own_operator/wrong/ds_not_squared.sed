# One v.
s/x\[i\] \/ (v \* v)/x[i] \/ v/
