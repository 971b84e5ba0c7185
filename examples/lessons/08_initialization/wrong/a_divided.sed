# The root on the wrong side.
s|a = sqrt(3) \* std|a = std / sqrt(3)|
