# Subtracted once more.
s/beta\[i\] = mean/beta[i] = -mean/
