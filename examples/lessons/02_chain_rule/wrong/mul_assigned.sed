# = for += in MUL.
s/grad += g \* list/grad = g * list/g
