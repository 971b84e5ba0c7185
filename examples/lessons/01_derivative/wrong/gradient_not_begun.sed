# TODO 3 is left.
s/^    for (size_t i = 0; i < n; i++) {/    for (size_t i = n; i < n; i++) {/
