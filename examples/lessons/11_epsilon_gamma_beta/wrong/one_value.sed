# Nothing special for one value.
/my_largest_slope.*eps)$/,/^}/{/N == 1/d}
