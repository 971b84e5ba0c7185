# TODO 3 is left.
s/^    if (pre_norm) return .*/    return NULL;/
