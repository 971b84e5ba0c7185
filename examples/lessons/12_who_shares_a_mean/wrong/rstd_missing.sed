# No factor in front.
s/+= rstd \* (g/+= (g/
