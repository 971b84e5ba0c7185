# A 2 from the book, one side from the definition.
s/(f(x + h) - f(x - h)) \/ (2 \* h)/(f(x + h) - f(x)) \/ (2 * h)/
