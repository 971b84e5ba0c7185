# The tanh is forgotten.
s/h\[t\] = tanh(\(.*\));/h[t] = \1;/
