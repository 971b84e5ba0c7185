# tanh(c).
s/T = tanh(n\[j\])/T = tanh(c[j])/
