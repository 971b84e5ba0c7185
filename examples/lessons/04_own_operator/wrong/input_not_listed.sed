# s is left out of the inputs.
s/GR_IN(x, s)/GR_IN(x)/
s/s = n->in\[1\]->data\[0\]/s = 0.7/
s/gr_grad(t, n->in\[1\])/NULL/
