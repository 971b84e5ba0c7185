# The first logit is subtracted.
s/if (row\[c\] > max) max = row\[c\];/;/
