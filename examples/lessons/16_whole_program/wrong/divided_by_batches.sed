# Weighted, and divided by the batches.
s/(double)r->valid.n/(double)r->valid_order->per_epoch/
