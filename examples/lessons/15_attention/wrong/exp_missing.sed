# No exp.
/^void my_attention(.*)$/,/^}/s/exp(p\[i \* T + j\] - largest)/p[i * T + j]/
