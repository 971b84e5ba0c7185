# The loss is taken for the end.
s/+= g \* /+= /
