# The step first.
/gr_optim_step/d; s/^    gr_backward.*/    gr_optim_step(r->t, r->adam);\n&/
