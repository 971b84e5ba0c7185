# A quotient of integers.
s|var \* rows / (rows - 1)|(rows / (rows - 1)) * var|
