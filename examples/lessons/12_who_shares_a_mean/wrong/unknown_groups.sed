# Three channels share a mean.
s/case GR_NORM_INSTANCE: return n \* C + c/case GR_NORM_INSTANCE: return (n * C + c) \/ 3/
