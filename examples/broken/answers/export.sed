# A norm divides by N, not by N - 1. In PyTorch, x.var() divides by N - 1 unless you say otherwise.
s/gr_var(t, x, GR_AXES(-1), 1, true)/gr_var(t, x, GR_AXES(-1), 0, true)/
