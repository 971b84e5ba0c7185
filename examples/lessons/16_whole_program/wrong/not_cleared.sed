# gr_backward begins at 0, I thought.
/gr_optim_zero_grad/d
