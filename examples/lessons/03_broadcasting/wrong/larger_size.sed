# The larger of the two sizes.
s/= m == 1 ? n : m;/= m > n ? m : n;/
