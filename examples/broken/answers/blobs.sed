# Logits need no norm. After one, each row has mean 0 and variance 1, so the softmax can never be sure.
s/x = m->after = gr_norm_forward(t, m->ln\[l\], m->before, NULL);/x = m->after = l < LAYERS - 1 ? gr_norm_forward(t, m->ln[l], m->before, NULL) : m->before;/
