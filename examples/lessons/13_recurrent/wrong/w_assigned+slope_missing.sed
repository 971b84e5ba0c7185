# Two mistakes at once, which dx confirms.
s/grad->w +=/grad->w =/; s/dh \* (1 - h\[t\] \* h\[t\])/dh/
