# Parentheses are missing: found by doing the exercise.
s/^ *dh += dy\[t\];//; s/da = dh \* (1/da = dy[t] + dh * (1/
