# The wrong index.
s/\*= gamma\[i\]/*= gamma[o]/
