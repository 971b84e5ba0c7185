# The old value is kept whole.
s/(1 - m) \* run/run/
