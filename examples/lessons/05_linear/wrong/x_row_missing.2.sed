# The row is forgotten in dW.
s/g \* x\[r \* I + i\]/g * x[i]/
