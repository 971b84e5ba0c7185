# The other order.
s/gr_batches_next(r->order)/gr_batches_next(r->valid_order)/
