# More samples are better.
s/loss_of(r, &r->train/loss_of(r, \&r->valid/
