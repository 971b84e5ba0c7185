# / v * v in ds alone.
s/x\[i\] \/ (v \* v)/x[i] \/ v * v/
