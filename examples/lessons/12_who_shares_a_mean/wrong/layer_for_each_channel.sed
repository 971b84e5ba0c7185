# The last axis alone.
s/GR_NORM_LAYER: return n/GR_NORM_LAYER: return i \/ L/
