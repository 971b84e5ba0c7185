# 1 - p without the 1.
s/loss->data\[0\] += .*/loss->data[0] -= s.p[r * C + s.target[r]] \/ rows;/
