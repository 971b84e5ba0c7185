# = for += in ADD.
s/list\[a\].grad += g, list\[b\].grad += g;/list[a].grad = g, list[b].grad = g;/
