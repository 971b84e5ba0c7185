# The largest begins at 0.
/^void my_attention(.*)$/,/^}/s/largest = -INFINITY/largest = 0/
