# The other direction.
s/\*= gamma/\/= gamma/
