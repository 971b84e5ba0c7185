# log p with a small number inside.
s/(log(sum) + max - row\[s.target\[r\]\])/-log(s.p[r * C + s.target[r]] + 1e-15)/
