# Row and column of ds.
s/dk\[j \* d + c\] += ds \* q\[i \* d + c\]/dk[i * d + c] += ds * q[j * d + c]/
