# The scale in dq only.
s/+= ds \* q/+= ds * sqrt(d) * q/
