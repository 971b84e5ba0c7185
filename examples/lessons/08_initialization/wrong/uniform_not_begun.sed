# Only TODO 1.
/w\[i\] = a/d
