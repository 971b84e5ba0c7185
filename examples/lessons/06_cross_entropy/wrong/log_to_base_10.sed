# The logarithm to base 10.
s/(log(sum)/(log10(sum)/
