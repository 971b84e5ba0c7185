# The slope from the right.
s/(f(x + h) - f(x - h)) \/ (2 \* h)/(f(x + h) - f(x)) \/ h/
