# One dy, in ds alone.
s/dy\[i\] \* x/*dy * x/
