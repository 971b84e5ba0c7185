# exp is kept.
s|= exp(row\[c\] - max) / sum;|= exp(row[c] - max);|
