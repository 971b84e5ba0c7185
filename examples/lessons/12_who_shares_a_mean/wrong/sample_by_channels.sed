# The positions are forgotten.
s|n = i / (C \* L)|n = i / C|
