# The sum over the rows.
s/row\[s.target\[r\]\]) \/ rows/row[s.target[r]])/
