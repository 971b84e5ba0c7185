# A division by 0.
s/(above - below) \/ (2 \* h)/(above - below) \/ (h - h)/
