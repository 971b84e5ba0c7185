# One search for all rows.
s/^    for (size_t r = 0; r < rows; r++) {$/    gr_real max = x->data[0];\n&/
s/gr_real max = row\[0\], sum = 0/gr_real sum = 0/; s/c = 1; c < C/c = 0; c < C/
