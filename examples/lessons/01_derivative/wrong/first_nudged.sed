# The index is left out.
/w\[i\] = before/s/w\[i\]/w[0]/
s/before = w\[i\]/before = w[0]/
