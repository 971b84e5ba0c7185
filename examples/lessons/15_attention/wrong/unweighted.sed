# No weight.
/^void my_attention(.*)$/,/^}/s/+= p\[i \* T + j\] \* v/+= v/
