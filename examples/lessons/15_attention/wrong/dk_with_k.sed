# k in dk.
s/ds \* q\[i \* d + c\]/ds * k[i * d + c]/
