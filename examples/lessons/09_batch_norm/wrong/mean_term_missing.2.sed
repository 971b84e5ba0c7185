# 1/N as a factor, in the mean of g.
s|- sum / rows|- 1 / rows * sum|
