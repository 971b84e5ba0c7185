# The row is forgotten in forward.
s/sum += x->data\[r \* I + i\]/sum += x->data[i]/
