# beta2 for m.
/^    ++/,$s/beta1/beta3/g
/^    ++/,$s/beta2/beta1/g
/^    ++/,$s/beta3/beta2/g
