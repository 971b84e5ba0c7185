# The last batch is kept.
s/const double m = run->momentum/const double m = 1/
