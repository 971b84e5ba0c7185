# Sizes must be equal.
s/m != n \&\& m != 1 \&\& n != 1/m != n \&\& k <= a.rank \&\& k <= b.rank/
