# The derivative of a sum is 1.
s/list\[a\].grad += g, list\[b\].grad += g;/list[a].grad += 1, list[b].grad += 1;/
