# exp of the logits.
s/gr_real max = row\[0\]/gr_real max = 0/; s/if (row\[c\] > max) max = row\[c\];/;/
