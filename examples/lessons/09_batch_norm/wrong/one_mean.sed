# The sums do not start at 0 for each column, and run over all values.
s/^        gr_real mean = s.training ? 0 : run->mean\[c\], var = s.training ? 0 : run->var\[c\];/        gr_real mean = 0, var = 0;/
s/for (size_t r = 0; r < rows; r++) mean += .*/for (size_t i = 0; i < x->len; i++) mean += x->data[i] \/ x->len;/
s/for (size_t r = 0; r < rows; r++) var += .*/for (size_t i = 0; i < x->len; i++) var += (x->data[i] - mean) * (x->data[i] - mean) \/ x->len;/
