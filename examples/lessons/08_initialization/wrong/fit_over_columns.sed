# Divided by the outputs only.
s/(rows \* out))/out)/
