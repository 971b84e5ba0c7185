# p is computed without the largest logit.
s/= exp(row\[c\] - max) \/ sum/= exp(row[c]) \/ (sum * exp(max))/
