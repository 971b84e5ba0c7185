# Rows and columns exchanged.
s/dy\[r \* O + o\]/dy[o * rows + r]/
