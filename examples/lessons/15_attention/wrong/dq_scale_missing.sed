# The scale in dk only.
s/+= ds \* k/+= ds * sqrt(d) * k/
