# A switch without a break after ADD, in backward.
s/if (list\[i\].op == MUL) list\[a\]/if (list[i].op == ADD || list[i].op == MUL) list[a]/
