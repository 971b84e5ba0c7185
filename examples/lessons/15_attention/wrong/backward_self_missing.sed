# j < i in backward.
/^.. Given dy/,/^}/s/j <= i/j < i/
