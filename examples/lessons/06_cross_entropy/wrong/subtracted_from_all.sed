# 1 for every class.
s/== c ? 1 : 0/>= 0/
