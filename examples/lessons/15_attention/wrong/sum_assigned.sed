# The gradients are cleared first.
/^.. Given dy/,/^}/s/^    for (int i = 0; i < T; i++) {$/    for (int i = 0; i < T * d; i++) dq[i] = dk[i] = dv[i] = 0;\n&/
