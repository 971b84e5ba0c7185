# The limit for all rows.
/my_largest_slope.*eps)$/,/^}/s|(var + eps)|(eps)|g
