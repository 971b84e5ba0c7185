# The other triangle.
/^void my_attention(.*)$/,/^}/{
s/int j = 0; j <= i; j++/int j = i; j < T; j++/
s/j <= i ?/j >= i ?/
}
