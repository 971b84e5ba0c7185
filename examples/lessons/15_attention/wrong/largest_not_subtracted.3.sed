# The largest before the division.
/^void my_attention(.*)$/,/^}/s/fmax(largest, s \/ sqrt(d))/fmax(largest, s)/
