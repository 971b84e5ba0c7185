# Each step sees its input alone.
s/p->w \* h\[t - 1\] +//
