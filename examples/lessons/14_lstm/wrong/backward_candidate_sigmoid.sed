# sigmoid for all.
s/g = tanh(a\[2 \* H + j\]);/g = sigmoid(a[2 * H + j]);/
