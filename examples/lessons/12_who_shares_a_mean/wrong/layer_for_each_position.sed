# The LayerNorm of a Transformer.
s/GR_NORM_LAYER: return n/GR_NORM_LAYER: return n * L + i % L/
