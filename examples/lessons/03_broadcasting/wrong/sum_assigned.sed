# = for +=.
s/small)\] += dy\[i\]/small)] = dy[i]/
