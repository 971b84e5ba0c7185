# The step grows with the root of x.
s/fabs(x))/sqrt(fabs(x)))/
