# The running statistics move in each mode.
s/^        s.mean\[c\] = mean, s.rstd/        if (!s.training) run->mean[c] *= 1 - run->momentum;\n&/
