# W is taken for [I, O], as in many textbooks.
s/w->data\[o \* I + i\]/w->data[i * O + o]/
