# Only rstd is kept.
s/s.mean\[r\] = mean, //
