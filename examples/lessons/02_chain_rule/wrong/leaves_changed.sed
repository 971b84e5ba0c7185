# A chain of else, in which every other node is a tanh.
s/if (list\[i\].op == MUL) list\[i\]/else &/
s/if (list\[i\].op == TANH) list\[i\]/else list[i]/
