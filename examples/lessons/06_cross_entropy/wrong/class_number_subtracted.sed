# The class number.
s/(size_t)s->target\[r\] == c ? 1 : 0/s->target[r]/
