# The loop ends early.
s/t = 1; t <= T/t = 1; t < T/
