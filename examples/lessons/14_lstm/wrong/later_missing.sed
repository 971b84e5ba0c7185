# The part of the next step is forgotten.
s/dc\[j\] = dc_later\[j\]/dc[j] = 0/
