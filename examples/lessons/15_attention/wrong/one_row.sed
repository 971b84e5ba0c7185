# The score is squared: only row 0 is right.
/^void my_attention(.*)$/,/^}/s/s \/ sqrt(d), /s * s \/ sqrt(d), /
