# The values of y in place of its gradient.
s/\*dy = gr_grad(t, n->out\[0\])/*dy = n->out[0]->data/
