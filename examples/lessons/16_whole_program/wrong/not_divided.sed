# The sum.
s/return sum \/ (double)r->valid.n/return sum/
