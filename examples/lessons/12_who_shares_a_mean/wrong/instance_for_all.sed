# One number.
s/GR_NORM_INSTANCE: return n \* C + c/GR_NORM_INSTANCE: return 0/
