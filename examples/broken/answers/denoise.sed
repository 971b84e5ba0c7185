# truth dies at the first gr_tape_reset. The new tensor of the same size that takes its place is the noisy input.
/gr_tensor \*const truth = true_values(t);/d
s/gr_tensor \*const loss = loss_of(t, &m, truth);/gr_tensor *const truth = true_values(t), *const loss = loss_of(t, \&m, truth);/
