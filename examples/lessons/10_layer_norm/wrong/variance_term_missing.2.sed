# 1/N as a factor, in the mean of g * xhat.
s|mean_gx += g \* xhat / N|mean_gx += 1 / N * g * xhat|
