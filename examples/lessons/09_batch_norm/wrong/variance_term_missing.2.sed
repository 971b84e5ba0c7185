# 1/N as a factor, in the mean of g * xhat.
s|xhat \* sum_x / rows|xhat * (1 / rows * sum_x)|
