# Nothing is set to 1.
s/^    list\[n - 1\].grad = 1;//
