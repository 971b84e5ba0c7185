# Nothing special for two values.
/my_largest_slope.*eps)$/,/^}/s|N == 2|N == 0|
