# The derivative of a product alone.
s/grad += g \* list/grad += list/g
