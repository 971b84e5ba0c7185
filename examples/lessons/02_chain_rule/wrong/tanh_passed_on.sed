# TANH like a sum.
s/g \* (1 - y \* y)/g/
