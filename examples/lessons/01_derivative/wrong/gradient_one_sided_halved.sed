# The weight goes up and back again, and the 2 comes from the book.
s/w\[i\] = before + h/w[i] += h/
s/w\[i\] = before - h/w[i] -= h/
