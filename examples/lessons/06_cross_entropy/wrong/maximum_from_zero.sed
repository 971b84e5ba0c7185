# The search begins at 0.
s/max = row\[0\]/max = 0/; s/c = 1; c < C/c = 0; c < C/
