# No gamma.
s/+= gamma\[c\] \* s->rstd/+= s->rstd/
