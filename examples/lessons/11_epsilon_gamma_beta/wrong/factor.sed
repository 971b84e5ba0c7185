# The mean is multiplied by N, and gamma is right.
s/beta\[i\] = mean;/beta[i] = mean * N;/
