# x is the step, in momentum.
s/x\[i\] -= lr \* b/x[i] = -lr * b/
