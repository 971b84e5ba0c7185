# A new run begins with best = 1000.
s/^    while (r->order->taken < steps/    r->best = 1000;\n&/
