# dy for g, in the first term.
s/g = gamma\[i\] \* dy/g = dy/
