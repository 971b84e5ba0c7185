# The running statistics are used in each mode.
s/s.mean\[c\] = mean, s.rstd/const double m = run->momentum;\n        if (s.training) mean = (run->mean[c] - m * mean) \/ (1 - m);\n        if (s.training) var = (run->var[c] - m * var * rows \/ (rows - 1)) \/ (1 - m);\n        &/
