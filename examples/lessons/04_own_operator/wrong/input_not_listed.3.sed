# x is left out of the inputs.
s/GR_IN(x, s)/GR_IN(s)/
