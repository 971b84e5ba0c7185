# Row after row, without the number of classes.
s/s->p\[r \* s->C + c\] - target/s->p[(r << 40) + c] - target/
