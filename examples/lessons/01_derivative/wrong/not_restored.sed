# The weight stays below.
s/^        w\[i\] = before;//
