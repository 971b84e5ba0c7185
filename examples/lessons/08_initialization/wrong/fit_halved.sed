# The 2 of my_std.
s/^            if (relu \&\& y < 0) y = 0;//; s/sqrt(sum \/ (double)(rows \* out))/sqrt(sum \/ (double)(rows * out) \/ (relu ? 2 : 1))/
