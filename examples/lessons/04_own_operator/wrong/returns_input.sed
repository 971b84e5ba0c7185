# GR_OUT and GR_IN exchanged.
s/GR_OUT(y), GR_IN(x, s)/GR_OUT(x, s), GR_IN(y)/
