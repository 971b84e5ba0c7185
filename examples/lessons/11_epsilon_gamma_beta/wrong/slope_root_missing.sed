# No root.
/my_largest_slope.*eps)$/,/^}/s|1 / sqrt(var + eps)|1 / (var + eps)|
