# One variance for both uses, the biased one.
s| \* rows / (rows - 1);|;|
