# x also moves the mean: forgotten.
s| - sum / rows||
