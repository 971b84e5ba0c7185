# The sums of forward begin once, before the loop over columns.
s/^        gr_real mean = s.training ? 0 : run->mean\[c\], var = .*/        if (!s.training) mean = run->mean[c], var = run->var[c];/
s/^    gr_tensor \*y = .*/&\n    gr_real mean = 0, var = 0;/
