# Divided by the rows only.
s/(rows \* out))/rows)/
