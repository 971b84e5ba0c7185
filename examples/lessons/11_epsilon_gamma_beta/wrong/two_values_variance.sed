# The variance of xhat for what is left of the step.
/my_largest_slope.*eps)$/,/^}/s|eps / (var + eps)|var / (var + eps)|
