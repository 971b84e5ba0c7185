# Not set back.
s/gr_tape_set_training(r->t, true), //
