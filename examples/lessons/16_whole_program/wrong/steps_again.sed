# steps to do now.
s/while (r->order->taken < steps/for (int64_t k = 0; k < steps/; s/gr_failed(r->t)) {$/gr_failed(r->t); k++) {/
