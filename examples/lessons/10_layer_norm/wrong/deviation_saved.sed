# The standard deviation is kept.
s/s.rstd\[r\] = rstd/s.rstd[r] = sqrt(var + eps)/
