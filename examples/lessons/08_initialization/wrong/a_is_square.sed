# The root is forgotten.
s/a = sqrt(3) \* std/a = 3 * std * std/
