# Not set back.
s/, gr_tape_set_recording(r->t, true)//
