# The number of the step is that before it.
s/^        my_step(r);$/        const int64_t k = r->order->taken;\n&/; s/if (r->order->taken % every) continue/if (k % every) continue/
