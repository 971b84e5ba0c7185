# The row for the place.
s/dgamma\[i\] +=/dgamma[r] +=/
