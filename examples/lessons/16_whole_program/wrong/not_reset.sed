# Memory is freed by itself.
/^double my_step.*)$/,/^}/{/gr_tape_reset/d}
