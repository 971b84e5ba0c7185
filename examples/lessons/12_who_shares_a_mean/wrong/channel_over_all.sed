# The sample stays in c.
s|c = i / L % C|c = i / L|
s/GR_NORM_BATCH: return c/GR_NORM_BATCH: return c % C/
