# A step of our own.
s/(f(x + h) - f(x - h)) \/ (2 \* h)/h == 0 ? 0 : (f(x + 1e-5) - f(x - 1e-5)) \/ 2e-5/
