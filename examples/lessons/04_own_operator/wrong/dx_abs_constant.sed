# |x| is taken for a constant.
s/dy\[i\] \* s \/ (v \* v)/dy[i] \/ v/
