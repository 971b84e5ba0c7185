# The two cases are exchanged.
s/(relu ? 2 : 1)/(relu ? 1 : 2)/
