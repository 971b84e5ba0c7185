# Divided by all three sizes.
s/(rows \* out))/(rows * out * in))/
