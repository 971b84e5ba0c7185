# No sigmoid.
/^void my_step(/,/^}/s/sigmoid(a\[3 \* H + j\])/a[3 * H + j]/
