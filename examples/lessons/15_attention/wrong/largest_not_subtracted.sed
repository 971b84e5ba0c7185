# exp of the score itself.
s/exp(p\[i \* T + j\] - largest)/exp(p[i * T + j])/
