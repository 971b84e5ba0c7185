# The largest logit is subtracted in place.
s/sum += exp(row\[c\] - max);/sum += exp(row[c] - max), x->data[0] += 1e-12;/
