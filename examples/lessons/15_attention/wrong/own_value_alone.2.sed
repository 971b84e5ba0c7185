# p transposed, in the loop over the keys that the query sees.
/^void my_attention(.*)$/,/^}/s/+= p\[i \* T + j\] \* v/+= p[j * T + i] * v/
