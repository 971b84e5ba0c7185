# The weight stays below, and the distance is h.
s/^        w\[i\] = before;//
s/below) \/ (2 \* h)/below) \/ h/
