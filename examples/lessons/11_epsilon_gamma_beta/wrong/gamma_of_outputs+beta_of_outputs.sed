# The wrong index, twice.
s/\* beta\[i\]/* beta[o]/; s/\*= gamma\[i\]/*= gamma[o]/
