# rstd for its inverse.
s/gamma\[i\] = sqrt/gamma[i] = 1 \/ sqrt/
