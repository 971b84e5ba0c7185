# No rstd in front.
s|gamma\[c\] \* s->rstd\[c\] \*|gamma[c] *|
