# The diagonal.
s/(dp - mean)/dp/
