# The mean begins once.
/^.. Given dy/,/^}/{
s/^        double mean = 0;//
s/^    for (int i = 0; i < T; i++) {$/    double mean = 0;\n&/
}
