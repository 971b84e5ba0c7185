# log p.
s/(log(sum) + max - row\[s.target\[r\]\])/-log(s.p[r * C + s.target[r]])/
