# An int.
s/GR_I64/GR_I32/
