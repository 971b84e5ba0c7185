# b holds the step.
s/mu \* b\[i\] + g\[i\]/mu * b[i] + lr * g[i]/; s/-= lr \* b\[i\]/-= b[i]/
