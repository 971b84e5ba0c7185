# Backward starts at n.
s/int i = n - 1; i >= 0/int i = n; i >= 0/
