# rows * C.
s|- target) / s->rows|- target) / (s->rows * s->C)|
