# Recording does not matter for values.
s/, gr_tape_set_recording(r->t, false)//
