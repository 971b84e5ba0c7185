# x in place of y.
s/y = list\[i\].value;/y = list[list[i].op == TANH ? a : i].value;/
