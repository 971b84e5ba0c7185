# No correction.
s/m\[i\] \/ (1 - pow(beta1, \*k))/m[i]/; s/v\[i\] \/ (1 - pow(beta2, \*k))/v[i]/
