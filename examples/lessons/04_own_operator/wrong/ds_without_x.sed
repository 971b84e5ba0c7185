# The derivative of 1 / v.
s/-= dy\[i\] \* x\[i\]/-= dy[i]/
