# A counter of the loop.
s/^    while (\(.*\)) {$/    for (int64_t k = 1; \1; k++) {/; s/r->order->taken % every/k % every/
