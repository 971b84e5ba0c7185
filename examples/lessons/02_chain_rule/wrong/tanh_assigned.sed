# = for += in TANH.
s/grad += g \* (1/grad = g * (1/
