# One sample in mind.
s/n \* groups + c/c/
