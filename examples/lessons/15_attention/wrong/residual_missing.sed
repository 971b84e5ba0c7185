# f alone.
s/gr_add(t, x, f(t, gr_layer_norm(t, x, 1, NULL, NULL, 0)))/f(t, gr_layer_norm(t, x, 1, NULL, NULL, 0))/
