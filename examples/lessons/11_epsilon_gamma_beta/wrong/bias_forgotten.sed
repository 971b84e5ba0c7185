# Only gamma is folded.
/b\[o\] += w/d
