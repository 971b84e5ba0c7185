# A mean for each sample and channel.
s/GR_NORM_BATCH: return c/GR_NORM_BATCH: return n * C + c/
