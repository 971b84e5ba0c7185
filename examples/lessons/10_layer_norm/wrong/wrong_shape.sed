# y is one long row.
s/gr_zeros(t, GR_SHAPE(rows, N))/gr_zeros(t, GR_SHAPE(rows * N))/
