# A float.
s/GR_F64/GR_F32/
