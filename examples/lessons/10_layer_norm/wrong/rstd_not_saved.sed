# Only the mean is kept.
s/, s.rstd\[r\] = rstd//
