# The two values are exchanged.
s/f(x + h) - f(x - h)/f(x - h) - f(x + h)/
