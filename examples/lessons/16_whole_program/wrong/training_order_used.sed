# Copied from my_step.
s/gr_batches_next(r->valid_order)/gr_batches_next(r->order)/
