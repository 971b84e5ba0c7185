# The two lines are exchanged.
s/\*= gamma\[i\];/*= gamma[i], b[o] += w[o * in + i] * beta[i];/; /^            b\[o\] += w/d
