# h for x.
s/grad->u += da \* x\[t\]/grad->u += da * h[t - 1]/
