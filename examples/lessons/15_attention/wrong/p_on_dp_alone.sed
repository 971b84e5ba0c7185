# Parentheses are missing.
s/p\[i \* T + j\] \* (dp - mean)/(p[i * T + j] * dp - mean)/
