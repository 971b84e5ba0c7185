# The last one is the best one.
s/if (loss < r->best) r->best/r->best/
