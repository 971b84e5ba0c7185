# The two are exchanged.
s/GR_NORM_BATCH: return c/GR_NORM_BATCH: return n/
