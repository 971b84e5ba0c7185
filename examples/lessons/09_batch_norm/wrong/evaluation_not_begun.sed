# TODO 1 only.
/^gr_tensor .*eps)$/,/^}/s/^    for (size_t c = 0; c < C; c++) {/    for (size_t c = 0; c < C \&\& s.training; c++) {/
