# Times.
/^void my_attention(.*)$/,/^}/s/s \/ sqrt(d)/s * sqrt(d)/g
