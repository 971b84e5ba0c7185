# The mask comes last.
/^void my_attention(.*)$/,/^}/s/j <= i; j++/j < T; j++/
