# 1 / N of integers makes all y 0.
s/s.rstd\[r\] = 1 \/ sqrt(ms + eps)/s.rstd[r] = 1 \/ N \/ sqrt(ms + eps)/
