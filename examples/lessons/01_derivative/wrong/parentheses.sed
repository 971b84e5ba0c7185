# The difference without brackets.
s/(f(x + h) - f(x - h)) \//f(x + h) - f(x - h) \//
