# x moves first.
/^        x\[i\] -= lr \* b/d; s/^        b\[i\] = .*/        x[i] -= lr * b[i];\n&/
