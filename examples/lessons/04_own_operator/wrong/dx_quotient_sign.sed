# + in the quotient rule.
s/dy\[i\] \* s \/ (v \* v)/dy[i] * (v + fabs(x[i])) \/ (v * v)/
