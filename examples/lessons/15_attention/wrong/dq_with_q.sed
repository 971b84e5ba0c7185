# q in dq.
s/ds \* k\[j \* d + c\]/ds * q[j * d + c]/
