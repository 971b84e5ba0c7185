# The square is forgotten.
s/a = sqrt(3) \* std/a = sqrt(3 * std)/
