# The index of the other row.
s/ds \* k\[j \* d + c\]/ds * k[i * d + c]/
