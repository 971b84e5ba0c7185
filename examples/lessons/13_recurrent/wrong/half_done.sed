# TODO 2 is left.
s/for (int t = T; t >= 1; t--)/for (int t = T; t >= 1 \&\& p->w > 9; t--)/
