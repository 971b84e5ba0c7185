# 1 - beta keeps.
s/beta1 \* m\[i\] + (1 - beta1)/(1 - beta1) * m[i] + beta1/; s/beta2 \* v\[i\] + (1 - beta2)/(1 - beta2) * v[i] + beta2/
