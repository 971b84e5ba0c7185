# The sum of squares.
s|sqrt(sum / .*;|sqrt(sum);|
