# The root is kept, and forward divides by it.
s|s.rstd\[c\] = 1 / sqrt(var + eps)|s.rstd[c] = sqrt(var + eps)|; s|- mean) \* s.rstd\[c\]|- mean) / s.rstd[c]|
