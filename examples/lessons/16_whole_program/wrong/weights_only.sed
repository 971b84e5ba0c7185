# The state is the weights.
/const gr_checkpoint_value/d
s/gr_checkpoint_save(r->t, r->net, r->adam, path, own, 2)/gr_state_save(r->t, r->net, path, NULL)/
s/gr_checkpoint_load(r->t, r->net, r->adam, path, own, 2)/gr_state_load(r->t, r->net, path, NULL)/
