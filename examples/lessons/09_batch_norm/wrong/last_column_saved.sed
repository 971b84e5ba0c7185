# One mean and rstd are kept.
s/s.mean\[c\] =/s.mean[0] =/; s/s.rstd\[c\]/s.rstd[0]/g; s/s->mean\[c\]/s->mean[0]/g; s/s->rstd\[c\]/s->rstd[0]/g
