# LN(x) + f(x), in post-norm.
s/^    return gr_layer_norm(t, gr_add.*/    return gr_add(t, gr_layer_norm(t, x, 1, NULL, NULL, 0), f(t, x));/
