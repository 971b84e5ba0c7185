# One NULL stops all.
/^static void my_backward/,/^}/s/^    for (size_t c = 0;.*/    if (!dx) return;\n&/
