# No scale.
/^void my_attention(.*)$/,/^}/s/s \/ sqrt(d)/s/g
