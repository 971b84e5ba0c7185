# Forward only.
/^static void my_backward/,/^}/s/r < rows/r < 0/
