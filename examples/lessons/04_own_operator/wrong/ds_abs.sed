# |x| in place of x.
s/dy\[i\] \* x\[i\]/dy[i] * fabs(x[i])/
