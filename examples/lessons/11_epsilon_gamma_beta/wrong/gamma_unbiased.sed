# The unbiased variance.
/my_identity.*beta)$/,/^}/s|(x\[i\] - mean) / N;|(x[i] - mean) / (N - 1);|
