# The size of a group for their number.
s|n \* groups + c|n * (C / groups) + c|
