# How far f moves, not its slope.
s/(above - below) \/ (2 \* h)/above - below/
