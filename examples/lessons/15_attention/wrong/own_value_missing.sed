# j < i in the sum.
/^void my_attention(.*)$/,/^}/s/j <= i; j++) y/j < i; j++) y/
