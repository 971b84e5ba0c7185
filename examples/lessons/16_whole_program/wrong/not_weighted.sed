# loss_of gives a sum, I thought.
s/ \* (double)ids->len//
