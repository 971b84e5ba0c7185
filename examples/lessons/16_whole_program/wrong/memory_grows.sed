# Nothing is recorded, so nothing is kept, I thought.
/^double my_validate.*)$/,/^}/{/gr_tape_reset/d}
