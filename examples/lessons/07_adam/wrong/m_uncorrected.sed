# m as it is.
s/m\[i\] \/ (1 - pow(beta1, \*k))/m[i]/
