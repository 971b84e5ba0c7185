# Errors of steps alone.
s/^    while (r->order->taken < steps.*/    while (r->order->taken < steps) {/; s/^        my_step(r);/&\n        if (gr_failed(r->t)) return false;/; /^bool my_train.*)$/,/^}/s/^    return .*/    return true;/
