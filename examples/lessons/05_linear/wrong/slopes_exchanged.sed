# dW from w.
s/g \* x\[r \* I + i\]/g * w[o * I + i]/
