# Forward only.
/^static void my_backward/,/^}/s/^    for (size_t c = 0;.*/    for (size_t c = C; c < C; c++) {/
