# Divided by the mean square.
s|1 / sqrt(sum / (double)(rows \* out))|1 / (sum / (double)(rows * out))|
