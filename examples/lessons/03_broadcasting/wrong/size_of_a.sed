# The shape of a, where it has one.
s/= m == 1 ? n : m;/= k <= a.rank ? m : n;/
