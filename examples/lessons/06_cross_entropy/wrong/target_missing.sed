# p alone.
s/s->p\[r \* s->C + c\] - target/s->p[r * s->C + c]/
