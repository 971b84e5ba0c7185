# 1/N as a factor: a division of integers makes both means 0.
s|mean_g += g / N, mean_gx += g \* xhat / N|mean_g += 1 / N * g, mean_gx += 1 / N * g * xhat|
