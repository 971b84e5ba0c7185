# The root itself.
/my_largest_slope.*eps)$/,/^}/s|return 1 / sqrt(var + eps)|return sqrt(var + eps)|
