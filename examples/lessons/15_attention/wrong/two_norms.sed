# Both at once.
s/^    if (pre_norm) return \(.*\);/    if (pre_norm) return gr_layer_norm(t, \1, 1, NULL, NULL, 0);/
