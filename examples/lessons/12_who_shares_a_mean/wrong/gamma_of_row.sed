# The row for the place.
s/gamma->data\[i\]/gamma->data[r]/
