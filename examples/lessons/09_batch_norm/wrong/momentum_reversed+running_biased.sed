# Two mistakes at once.
s/const double m = run->momentum/const double m = 1 - run->momentum/
s| \* rows / (rows - 1);|;|
