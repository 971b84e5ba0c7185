# Two mistakes at once.
s| - sum / rows||; s/+= gamma\[c\] \* s->rstd/+= s->rstd/
