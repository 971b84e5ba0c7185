# MUL is left for later.
s/^        if (list\[i\].op == MUL) list\[a\].grad.*//
