# j < i in forward.
/^void my_attention(.*)$/,/^}/s/j <= i/j < i/
