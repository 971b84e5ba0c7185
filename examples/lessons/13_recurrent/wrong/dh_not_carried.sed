# dy is taken for the whole gradient of the state.
s/dh += dy\[t\]/dh = dy[t]/
