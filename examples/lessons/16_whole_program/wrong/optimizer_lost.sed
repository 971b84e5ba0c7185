# The weights are what was learned.
s/r->net, r->adam, path/r->net, NULL, path/
