# The step is h, so divide by h.
s/(f(x + h) - f(x - h)) \/ (2 \* h)/(f(x + h) - f(x - h)) \/ h/
