# An average, as in Adam.
s/mu \* b\[i\] + g\[i\]/mu * b[i] + (1 - mu) * g[i]/
