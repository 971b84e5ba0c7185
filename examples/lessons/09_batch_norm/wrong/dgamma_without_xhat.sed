# The derivative of beta, twice.
s/dgamma\[c\] += sum_x/dgamma[c] += sum/
