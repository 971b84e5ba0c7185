# The index of the row.
s/db\[o\]/db[r]/
