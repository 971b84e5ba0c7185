# Both at once, in post-norm.
s/gr_add(t, x, f(t, x))/gr_add(t, x, f(t, gr_layer_norm(t, x, 1, NULL, NULL, 0)))/
