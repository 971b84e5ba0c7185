# The index of the other row.
s/ds \* q\[i \* d + c\]/ds * q[j * d + c]/
