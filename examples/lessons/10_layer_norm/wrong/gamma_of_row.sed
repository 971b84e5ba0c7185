# The index of the row.
s/gamma->data\[i\]/gamma->data[r]/
