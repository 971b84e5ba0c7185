# The sum is assigned.
s/dbeta\[c\] += sum/dbeta[c] = sum/; s/dgamma\[c\] += sum_x/dgamma[c] = sum_x/
