# No gr_ready.
s/^    if (!gr_ready.*//
