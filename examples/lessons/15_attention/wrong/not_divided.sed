# No sum.
/^void my_attention(.*)$/,/^}/s/p\[i \* T + j\] \/ sum/p[i * T + j]/
