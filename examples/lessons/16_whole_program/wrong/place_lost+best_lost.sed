# A checkpoint has everything, I thought.
/const gr_checkpoint_value/d; s/own, 2/NULL, 0/
