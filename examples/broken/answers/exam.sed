# The test runs in training mode: BatchNorm takes the statistics of the test batch and keeps them, and dropout drops.
s/^    gr_tape_set_recording(t, false);/    gr_tape_set_training(t, false), gr_tape_set_recording(t, false);/
s/^    gr_tape_set_recording(t, true);/    gr_tape_set_training(t, true), gr_tape_set_recording(t, true);/
