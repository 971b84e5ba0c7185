# The largest of all rows so far.
/^void my_attention(.*)$/,/^}/{
s/^        double largest = -INFINITY, sum = 0;/        double sum = 0;/
s/^    for (int i = 0; i < T; i++) {$/    double largest = -INFINITY;\n&/
}
