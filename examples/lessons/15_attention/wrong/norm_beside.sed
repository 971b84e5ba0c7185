# LN(x) + f(x).
s/^    if (pre_norm) return .*/    if (pre_norm) return gr_add(t, gr_layer_norm(t, x, 1, NULL, NULL, 0), f(t, x));/
