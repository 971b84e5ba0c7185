# The index of the row for both.
s/gamma->data\[i\]/gamma->data[r]/; s/beta->data\[i\]/beta->data[r]/
