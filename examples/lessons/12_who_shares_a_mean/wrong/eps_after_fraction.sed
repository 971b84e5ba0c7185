# eps after the fraction.
s/1 \/ sqrt(ms + eps)/1 \/ sqrt(ms) + eps/
