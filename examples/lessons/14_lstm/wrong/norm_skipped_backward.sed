# dn is taken for the gradient of c.
s/if (!norm) dc\[j\] += dn/dc[j] += dn/; s/^    if (norm) layer_norm_backward.*//
