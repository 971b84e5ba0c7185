# dx is cleared before the sum.
/^static void my_backward/,/^}/s/^    for (size_t r = 0; r < rows; r++)$/    for (size_t k = 0; dx \&\& k < rows * I; k++) dx[k] = 0;\n&/
