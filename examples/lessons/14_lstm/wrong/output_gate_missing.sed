# No o.
s/h\[j\] = sigmoid(a\[3 \* H + j\]) \* /h[j] = /
