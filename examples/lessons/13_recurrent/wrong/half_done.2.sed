# dh is never added to: dy multiplies it.
s/dh += dy\[t\]/dh = dy[t] * dh/
