# With one signal in a step, its own mean and variance are removed, and with them its size. A BatchNorm needs a batch.
s/N = 1, L/N = 32, L/
