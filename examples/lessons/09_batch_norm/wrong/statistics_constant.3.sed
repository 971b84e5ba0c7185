# 1/N as a factor: a division of integers makes both means 0.
s|sum / rows - xhat \* sum_x / rows|1 / rows * sum - xhat * (1 / rows * sum_x)|
