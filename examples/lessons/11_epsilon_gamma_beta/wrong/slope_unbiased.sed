# The unbiased variance.
/my_largest_slope.*eps)$/,/^}/s|(x\[i\] - mean) / N;|(x[i] - mean) / (N > 1 ? N - 1 : 1);|
