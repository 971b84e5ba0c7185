# The loop begins one too late.
s/int i = n - 1; i >= 0/int i = n - 2; i >= 0/
