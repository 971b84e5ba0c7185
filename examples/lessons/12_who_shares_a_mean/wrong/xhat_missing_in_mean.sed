# The mean of g.
s/\* x\[r \* N + i\] \* rstd \/ N/\/ N/
