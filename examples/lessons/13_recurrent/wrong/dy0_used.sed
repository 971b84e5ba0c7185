# dy[t - 1] is added at the end of a step: found by doing the exercise.
s/double dh = 0;/double dh = dy[T];/; s/^ *dh += dy\[t\];//; s/dh = da \* p->w;/dh = dy[t - 1] + da * p->w;/
