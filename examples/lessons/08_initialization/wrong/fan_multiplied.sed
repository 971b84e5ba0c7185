# The number of weights.
s/(backward ? out : in)/(in * out)/
