# Nothing is done if one is NULL.
s/^    for (size_t i = 0; i < n->in/    if (!dx || !ds) return;\n&/
