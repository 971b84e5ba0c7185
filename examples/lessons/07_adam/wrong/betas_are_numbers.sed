# The usual values.
/^    ++/,$s/beta1/0.9/g
/^    ++/,$s/beta2/0.999/g
