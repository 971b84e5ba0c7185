# 1/N as a factor: a division of integers makes the mean 0.
s|mean_gx += \(.*\) / N;|mean_gx += 1 / N * \1;|
