# q is scaled in place.
/^void my_attention(.*)$/,/^}/s/^    for (int i = 0; i < T; i++) {$/    for (int i = 0; i < T * d; i++) ((double *)q)[i] *= 1.5;\n&/
