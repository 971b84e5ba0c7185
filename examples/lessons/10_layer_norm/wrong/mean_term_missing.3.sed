# 1/N as a factor, in the mean of g.
s|mean_g += g / N|mean_g += 1 / N * g|
