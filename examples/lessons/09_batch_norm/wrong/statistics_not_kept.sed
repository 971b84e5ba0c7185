# mean is not kept.
s/s.mean\[c\] = mean, s.rstd\[c\] = 1/gr_real rs = 1/; s/s.rstd\[c\]) + beta/rs) + beta/; s/s->rstd\[c\]/0/g
