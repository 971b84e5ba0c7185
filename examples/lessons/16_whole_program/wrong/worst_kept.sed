# Larger is better, as an accuracy.
s/loss < r->best/loss > r->best/
