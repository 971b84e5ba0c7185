# The variance is returned.
s/return sqrt(\(.*\));/return \1;/
