# dx in place of dy: found by a learner.
s/dx\[i\] += dy\[i\]/dx[i] += dx[i]/
