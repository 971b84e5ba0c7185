# Every row has all directions.
/my_largest_slope.*eps)$/,/^}/{/N == 1/d; s/N == 2/N == 0/}
