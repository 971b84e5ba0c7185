# The loop goes down to 0.
s/t >= 1; t--/t >= 0; t--/
