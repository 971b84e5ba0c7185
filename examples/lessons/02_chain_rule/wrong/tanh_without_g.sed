# The derivative of tanh alone.
s/grad += g \* (1/grad += (1/
