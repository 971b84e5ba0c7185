# Only full batches.
s/k < r->valid_order->per_epoch/k + 1 < r->valid_order->per_epoch/
