# Forward only.
s/^            dx\[r.*//
