# v[i] for v[j].
/^void my_attention(.*)$/,/^}/s/\* v\[j \* d + c\]/* v[i * d + c]/
