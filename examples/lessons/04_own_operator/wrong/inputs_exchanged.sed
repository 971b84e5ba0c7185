# The order of GR_IN.
s/GR_IN(x, s)/GR_IN(s, x)/
