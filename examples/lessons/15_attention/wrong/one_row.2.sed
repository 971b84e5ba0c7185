# Two tokens too many: only the last row is right.
/^void my_attention(.*)$/,/^}/s/j <= i/j <= i + 2 \&\& j < T/
