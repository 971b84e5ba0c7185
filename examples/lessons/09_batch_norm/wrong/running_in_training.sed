# The running statistics are used in each mode.
s/s.mean\[c\] = mean, s.rstd/if (s.training) mean = (run->mean[c] - run->momentum * mean) \/ (1 - run->momentum);\n        if (s.training) var = (run->var[c] - run->momentum * var * rows \/ (rows - 1)) \/ (1 - run->momentum);\n        &/
