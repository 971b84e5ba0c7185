# The gradients of the last call stay.
s/^    for (int i = 0; i < n; i++) list\[i\].grad = 0;//
