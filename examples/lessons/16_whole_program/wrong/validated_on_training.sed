# Copied from my_step.
s/loss_of(r, &r->valid/loss_of(r, \&r->train/
