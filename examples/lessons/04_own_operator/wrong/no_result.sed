# A wrong shape of s is refused.
s/^    gr_tensor \*y = gr_empty_like(t, x);/    if (s->rank != 1) return gr_fail(t, \&my_op, "s has rank %d", s->rank);\n&/
