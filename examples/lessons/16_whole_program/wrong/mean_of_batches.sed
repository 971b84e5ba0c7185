# A mean of means.
s/ \* (double)ids->len//; s/sum \/ (double)r->valid.n/sum \/ (double)r->valid_order->per_epoch/
