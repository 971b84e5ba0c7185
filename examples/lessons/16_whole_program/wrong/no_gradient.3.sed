# The loss is enough.
/^    gr_backward/d
