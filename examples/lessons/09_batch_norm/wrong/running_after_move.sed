# Move the running statistics, then use them in each mode.
s/s.mean\[c\] = mean, s.rstd/mean = run->mean[c], var = run->var[c];\n        &/
