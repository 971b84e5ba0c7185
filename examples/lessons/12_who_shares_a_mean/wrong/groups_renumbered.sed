# Numbers from the back.
s/case GR_NORM_INSTANCE: return n \* C + c/case GR_NORM_INSTANCE: return (n + 1) * C - c - 1/
