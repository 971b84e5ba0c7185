# The slope at the state before.
s/(1 - h\[t\] \* h\[t\])/(1 - h[t - 1] * h[t - 1])/
