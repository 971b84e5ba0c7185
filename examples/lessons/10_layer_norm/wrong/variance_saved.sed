# The variance is kept.
s/s.rstd\[r\] = rstd/s.rstd[r] = var/
