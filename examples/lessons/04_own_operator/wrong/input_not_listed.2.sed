# s is left out of the inputs, and backward reads n->in[1].
s/GR_IN(x, s)/GR_IN(x)/
