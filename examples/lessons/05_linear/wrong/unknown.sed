# dx is multiplied in place: found by a learner.
s/+= g \* w\[o \* I + i\]/+= dx[r * I + i] * w[o * I + i]/
