# The order is random anyway.
s/{ "taken", GR_I64, 1, &r->order->taken }, //; s/own, 2/own, 1/
