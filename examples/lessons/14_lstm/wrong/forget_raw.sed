# No sigmoid.
/^void my_step(/,/^}/s/sigmoid(a\[H + j\])/a[H + j]/
