# i and f exchanged.
/^void my_step(.*)$/,/^}/s/sigmoid(a\[H + j\]) \* c_prev\[j\] + sigmoid(a\[j\])/sigmoid(a[j]) * c_prev[j] + sigmoid(a[H + j])/
