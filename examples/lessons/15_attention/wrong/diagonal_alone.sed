# The diagonal of the derivative.
s/p\[i \* T + j\] \* (dp - mean)/p[i * T + j] * (1 - p[i * T + j]) * dp/
