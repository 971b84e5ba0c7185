# The two are exchanged.
s/GR_NORM_LAYER: return n/GR_NORM_LAYER: return c/
