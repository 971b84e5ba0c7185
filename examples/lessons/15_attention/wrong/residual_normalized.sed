# x is replaced by LN(x).
s/^    if (pre_norm) return .*/    if (pre_norm) {\n        x = gr_layer_norm(t, x, 1, NULL, NULL, 0);\n        return gr_add(t, x, f(t, x));\n    }/
