# One NULL stops all.
/^static void my_backward/,/^}/s/^    for (size_t r = 0; r < rows; r++)$/    if (!dx) return;\n&/
