# k as [d, T].
/^void my_attention(.*)$/,/^}/s/k\[j \* d + c\]/k[c * T + j]/
