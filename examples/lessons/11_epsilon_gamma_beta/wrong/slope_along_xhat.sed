# Only the step along xhat is looked at.
/my_largest_slope.*eps)$/,/^}/s|(N == 2 ? eps / (var + eps) : 1)|eps / (var + eps)|
