# The line of m is copied.
s/v\[i\] \/ (1 - pow(beta2/v[i] \/ (1 - pow(beta1/
