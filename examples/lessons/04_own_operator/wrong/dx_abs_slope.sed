# The derivative of |x| is 1.
s/dy\[i\] \* s \/ (v \* v)/dy[i] * (v - x[i]) \/ (v * v)/
