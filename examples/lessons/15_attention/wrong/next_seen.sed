# j <= i + 1.
/^void my_attention(.*)$/,/^}/s/j <= i/j <= i + 1 \&\& j < T/
