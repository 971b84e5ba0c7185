# The gradient begins with the value.
s/list\[n - 1\].grad = 1;/list[n - 1].grad = list[n - 1].value;/
