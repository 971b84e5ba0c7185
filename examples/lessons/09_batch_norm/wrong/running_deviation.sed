# The standard deviation is averaged.
s|m \* var \* rows / (rows - 1)|m * sqrt(var * rows / (rows - 1))|
