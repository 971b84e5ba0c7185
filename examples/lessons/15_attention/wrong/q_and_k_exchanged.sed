# q for k.
/^void my_attention(.*)$/,/^}/s/q\[i \* d + c\] \* k\[j \* d + c\]/k[i * d + c] * q[j * d + c]/
