# The sizes of the example are written as numbers.
s|sum / (double)(rows \* out)|sum / 8|
