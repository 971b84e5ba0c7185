# Over the samples alone.
s/GR_NORM_BATCH: return c/GR_NORM_BATCH: return i % (C * L)/
