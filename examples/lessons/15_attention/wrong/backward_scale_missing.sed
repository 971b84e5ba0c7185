# No scale in backward.
s/(dp - mean) \/ sqrt(d)/(dp - mean)/
