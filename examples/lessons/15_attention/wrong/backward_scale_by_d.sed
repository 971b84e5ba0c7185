# d for its root.
s/(dp - mean) \/ sqrt(d)/(dp - mean) \/ d/
