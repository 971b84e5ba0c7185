# Two mistakes at once.
/^void my_attention(.*)$/,/^}/{
s/s \/ sqrt(d)/s/g
s/j <= i; j++/j < T; j++/
s/j <= i ? p\[i \* T + j\] \/ sum : 0/p[i * T + j] \/ sum/
}
