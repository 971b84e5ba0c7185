# TANH is left for later.
s/^        if (list\[i\].op == TANH) list\[a\].grad.*//
