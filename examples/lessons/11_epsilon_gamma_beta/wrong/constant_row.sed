# A row of equal values is left out.
/my_largest_slope.*eps)$/,/^}/s/N == 1/var == 0/
