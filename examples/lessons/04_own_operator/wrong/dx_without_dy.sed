# The derivative alone.
s/dx\[i\] += dy\[i\] \* s/dx[i] += s/
