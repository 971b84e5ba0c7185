# The variance of y.
s/double sum = 0;/double sum = 0, all = 0;/
s/sum += y \* y;/sum += y * y, all += y;/
s|sqrt(sum / (double)(rows \* out))|sqrt((sum - all * all / (rows * out)) / (rows * out))|
