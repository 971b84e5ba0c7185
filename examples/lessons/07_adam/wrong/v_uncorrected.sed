# v as it is.
s/v\[i\] \/ (1 - pow(beta2, \*k))/v[i]/
