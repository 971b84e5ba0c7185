# The mode is forgotten.
s/gr_tape_set_training(r->t, false), //
