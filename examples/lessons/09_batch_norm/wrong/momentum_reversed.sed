# Momentum as the weight of the past, as in an optimizer.
s/const double m = run->momentum/const double m = 1 - run->momentum/
