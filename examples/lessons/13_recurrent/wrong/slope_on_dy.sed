# Parentheses are missing, the other way round.
s/^ *dh += dy\[t\];//; s/da = dh \* (1 - h\[t\] \* h\[t\])/da = dy[t] * (1 - h[t] * h[t]) + dh/
