# The gradient of x in place of that of y.
s/\*dy = gr_grad(t, n->out\[0\])/*dy = gr_grad(t, n->in[0])/
