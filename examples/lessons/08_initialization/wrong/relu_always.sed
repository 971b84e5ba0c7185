# He initialization for everything.
s|(relu ? 2 : 1) / fan|2 / fan|
