# Two values never move.
/my_largest_slope.*eps)$/,/^}/s|N == 1|N <= 2|
