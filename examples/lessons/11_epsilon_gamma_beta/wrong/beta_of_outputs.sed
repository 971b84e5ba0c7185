# The wrong index.
s/\* beta\[i\]/* beta[o]/
