# One batch.
s/^    for (size_t k = 0; k < r->valid_order->per_epoch.*/    {/; s/ \* (double)ids->len//; s/sum \/ (double)r->valid.n/sum/
