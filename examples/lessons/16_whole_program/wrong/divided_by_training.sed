# Copied.
s/(double)r->valid.n/(double)r->train.n/
