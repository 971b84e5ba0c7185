# No sigmoid.
/^void my_step(/,/^}/s/sigmoid(a\[j\])/a[j]/
