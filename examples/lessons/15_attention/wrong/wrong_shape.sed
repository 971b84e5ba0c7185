# The mean over the tokens.
s/^    if (pre_norm) return .*/    return gr_mean(t, x, GR_AXES(0), false);/
