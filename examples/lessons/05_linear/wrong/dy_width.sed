# The width of x.
s/dy\[r \* O + o\]/dy[r * I + o]/
