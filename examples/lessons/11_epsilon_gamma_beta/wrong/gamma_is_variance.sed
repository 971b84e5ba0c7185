# No root.
s/gamma\[i\] = sqrt(var + eps)/gamma[i] = var + eps/
