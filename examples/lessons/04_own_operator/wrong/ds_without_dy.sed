# The derivative alone.
s/-= dy\[i\] \* x/-= x/
