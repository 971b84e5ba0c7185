# As for a squared error.
s/+= g \*/+= g * s->p[r * s->C + c] * (1 - s->p[r * s->C + c]) */
