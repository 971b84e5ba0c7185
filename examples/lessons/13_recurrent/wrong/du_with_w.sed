# w for x.
s/grad->u += da \* x\[t\]/grad->u += da * p->w/
