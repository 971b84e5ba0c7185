# b is kept and not used.
s/lr \* b\[i\]/lr * g[i]/
