# The loop begins at 0.
s/int t = 1; t <= T/int t = 0; t <= T/
