# LN(x) + f(LN(x)), in post-norm.
s/^    return gr_layer_norm(t, gr_add.*/    x = gr_layer_norm(t, x, 1, NULL, NULL, 0);\n    return gr_add(t, x, f(t, x));/
