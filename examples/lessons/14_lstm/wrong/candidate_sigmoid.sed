# Four sigmoids.
/^void my_step(.*)$/,/^}/s/tanh(a\[2/sigmoid(a[2/
