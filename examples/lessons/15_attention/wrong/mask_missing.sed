# No mask.
/^void my_attention(.*)$/,/^}/{
s/j <= i; j++/j < T; j++/
s/j <= i ? p\[i \* T + j\] \/ sum : 0/p[i * T + j] \/ sum/
}
