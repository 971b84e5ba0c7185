# ReLU halves, so the weights are halved.
s|(relu ? 2 : 1) / fan|(relu ? 0.5 : 1) / fan|
