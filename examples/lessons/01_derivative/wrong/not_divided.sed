# How far f moves, not its slope.
s/(f(x + h) - f(x - h)) \/ (2 \* h)/f(x + h) - f(x - h)/
