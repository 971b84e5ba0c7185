# An index beyond the end.
s/w\[i\] = before + h/w[i + 100000000] = before + h/
