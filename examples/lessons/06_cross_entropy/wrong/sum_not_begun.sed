# The sum is declared above the loop.
s/^    for (size_t r = 0; r < rows; r++) {$/    gr_real sum = 0;\n&/
s/max = row\[0\], sum = 0/max = row[0]/
