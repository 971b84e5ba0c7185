# The sums of backward begin once, before the loop over columns.
s/^        gr_real sum = 0, sum_x = 0;//
s/^    const size_t rows = s->rows.*/&\n    gr_real sum = 0, sum_x = 0;/
