# Cleared after backward, for the next step.
/gr_optim_zero_grad/d; s/^    gr_backward.*/&\n    gr_optim_zero_grad(r->adam);/
