# No factor for ReLU.
s|(relu ? 2 : 1) / fan|1 / fan|
