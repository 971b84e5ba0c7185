# A condition for large x, which no negative x meets.
s/1e-5 \* fmax(1, fabs(x))/x > 1 ? 1e-5 * x : 1e-5/
