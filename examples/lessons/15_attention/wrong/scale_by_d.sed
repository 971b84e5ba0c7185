# d for its root.
/^void my_attention(.*)$/,/^}/s/s \/ sqrt(d)/s \/ d/g
