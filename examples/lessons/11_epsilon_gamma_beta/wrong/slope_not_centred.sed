# The mean square for the variance.
/my_largest_slope.*eps)$/,/^}/s|(x\[i\] - mean) \* (x\[i\] - mean)|x[i] * x[i]|
