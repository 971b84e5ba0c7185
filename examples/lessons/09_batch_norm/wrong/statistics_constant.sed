# Only the derivative of (x - mean) * rstd with constants.
s/if (!s->training) sum/sum/
