# An integer division.
s/a = sqrt(3) \* std/a = std * sqrt(1 \/ 3)/
