# The mean over all values.
s/row\[s.target\[r\]\]) \/ rows/row[s.target[r]]) \/ (rows * C)/
