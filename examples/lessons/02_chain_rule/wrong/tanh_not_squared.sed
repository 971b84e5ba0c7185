# y in place of its square.
s/1 - y \* y/1 - y/
