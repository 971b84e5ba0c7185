# backward learns.
/gr_optim_step/d
