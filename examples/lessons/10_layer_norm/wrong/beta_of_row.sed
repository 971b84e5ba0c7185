# The index of the row.
s/beta->data\[i\]/beta->data[r]/
