# A backward adds: h has two uses, and the other one has already put its part there.
s/dx\[i\] = dy\[i\]/dx[i] += dy[i]/
