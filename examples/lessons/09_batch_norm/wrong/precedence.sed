# The sum of squares / rows - 1, which subtracts 1 last.
s|m \* var \* rows / (rows - 1)|m * (var * rows / rows - 1)|
