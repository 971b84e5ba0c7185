# The slope from the left.
s/(f(x + h) - f(x - h)) \/ (2 \* h)/(f(x) - f(x - h)) \/ h/
