# Saved, and not loaded.
s/gr_checkpoint_load(r->t, r->net, r->adam/gr_checkpoint_load(r->t, r->net, NULL/
