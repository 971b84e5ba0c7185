# A look first, then a step.
s/^        my_step(r);$//; s/if (r->order->taken % every) continue;/if (r->order->taken % every == 0) {/
s/^        if (loss < r->best).*/&\n        }\n        my_step(r);/
