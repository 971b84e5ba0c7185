# tanh of what is a tanh.
s/(1 - h\[t\] \* h\[t\])/(1 - tanh(h[t]) * tanh(h[t]))/
