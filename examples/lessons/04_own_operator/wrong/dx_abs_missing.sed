# |x| is forgotten in backward.
s/dx\[i\] += dy\[i\] \* s \/ (v \* v)/dx[i] += dy[i] * s \/ ((s + x[i]) * (s + x[i]))/
