# Compared only.
s/r->best = loss, //
