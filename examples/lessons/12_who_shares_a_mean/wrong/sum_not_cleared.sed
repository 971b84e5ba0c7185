# The sum begins once.
s/^        gr_real ms = 0;//; s/^    gr_tensor \*y = .*/&\n    gr_real ms = 0;/
