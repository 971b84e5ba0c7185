# The loss looks at the last state only.
s/dh += dy\[t\]/if (t == T) dh += dy[t]/
