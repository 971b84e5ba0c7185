# The loss is read after the reset.
s/    return gr_item(loss);/    gr_tape_reset(r->t);\n&/
