# From -std to std.
s/a = sqrt(3) \* std/a = std/
