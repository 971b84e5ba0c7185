# The order i, f, o, g.
/^void my_step(.*)$/,/^}/{
s/tanh(a\[2 \* H + j\])/tanh(a[3 * H + j]_)/
s/sigmoid(a\[3 \* H + j\])/sigmoid(a[2 * H + j])/
s/\]_/]/
}
