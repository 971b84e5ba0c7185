# LN of what f gives.
s/f(t, gr_layer_norm(t, x, 1, NULL, NULL, 0))/gr_layer_norm(t, f(t, x), 1, NULL, NULL, 0)/
