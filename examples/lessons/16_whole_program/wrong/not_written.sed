# Best is a number.
s/, gr_state_save(r->t, r->net, best_path, NULL)//
