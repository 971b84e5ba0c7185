# No brackets.
s|/ (rows - 1)|/ rows - 1|
