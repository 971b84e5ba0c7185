# T for d.
/^void my_attention(.*)$/,/^}/s/sqrt(d)/sqrt(T)/g
