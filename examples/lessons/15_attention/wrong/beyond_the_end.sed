# j <= i + 1, and the last query has no next key.
/^void my_attention(.*)$/,/^}/s/j <= i; j++/j <= i + 1; j++/
