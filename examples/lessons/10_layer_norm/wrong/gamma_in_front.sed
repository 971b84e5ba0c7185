# gamma is taken out of the means.
s/g = gamma\[i\] \* dy/g = dy/; s/+= rstd \* (g/+= gamma[i] * rstd * (g/
