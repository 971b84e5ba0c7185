# += from somewhere else.
s/gradient\[i\] =/gradient[i] +=/
