# The slope from the right, with the distance of a central one.
s/w\[i\] = before - h;/w[i] = before;/
s/below) \/ (2 \* h)/below) \/ h/
