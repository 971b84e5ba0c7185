# No eps.
/my_largest_slope.*eps)$/,/^}/s/(var + eps)/(var)/g
/my_largest_slope.*eps)$/,/^}/s|eps / (var)|eps * 0|
