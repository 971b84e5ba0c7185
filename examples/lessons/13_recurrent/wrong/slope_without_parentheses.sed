# 1 - h * h without parentheses.
s/dh \* (1 - h\[t\] \* h\[t\])/dh * 1 - h[t] * h[t]/
