# The loop ends one step early.
s/t >= 1; t--/t > 1; t--/
