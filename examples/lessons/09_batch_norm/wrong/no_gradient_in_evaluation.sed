# Constants have no gradient.
s/if (!s->training) sum = sum_x = 0;/if (!s->training) continue;/
