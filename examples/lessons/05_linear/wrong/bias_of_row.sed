# The index of the row.
s/b->data\[o\]/b->data[r]/
