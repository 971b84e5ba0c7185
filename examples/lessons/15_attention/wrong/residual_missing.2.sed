# f alone, in post-norm.
s/gr_add(t, x, f(t, x))/f(t, x)/
