# = for += in MUL, and own factors.
s/list\[a\].grad += g \* list\[b\].value, list\[b\].grad += g \* list\[a\].value/list[a].grad = g * list[a].value, list[b].grad = g * list[b].value/
