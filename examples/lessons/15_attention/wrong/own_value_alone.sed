# = for +=.
/^void my_attention(.*)$/,/^}/s/y\[i \* d + c\] += /y[i * d + c] = /
