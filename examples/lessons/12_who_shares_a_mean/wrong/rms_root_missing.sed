# No root.
s|sqrt(ms + eps)|(ms + eps)|
