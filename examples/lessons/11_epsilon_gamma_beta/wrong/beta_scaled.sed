# The mean of x * rstd.
s/beta\[i\] = mean/beta[i] = mean \/ sqrt(var + eps)/
