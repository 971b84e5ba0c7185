# TODO 2 is left.
/^.. Given dy/,/^}/s/^    for (int i = 0; i < T; i++) {$/    for (int i = 0; i < T \&\& d > 99; i++) {/
