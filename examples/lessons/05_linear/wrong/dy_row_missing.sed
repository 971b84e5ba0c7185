# The row is forgotten.
s/dy\[r \* O + o\]/dy[o]/
