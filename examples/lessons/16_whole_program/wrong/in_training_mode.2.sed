# Recording is the mode, I thought.
s/gr_tape_set_training([^)]*), //
