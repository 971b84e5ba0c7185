# x[t-1] for x[t].
s/grad->u += da \* x\[t\]/grad->u += da * x[t - 1]/
