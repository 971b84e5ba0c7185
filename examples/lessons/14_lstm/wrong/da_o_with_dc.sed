# All four gates start from dc.
/^void my_step_backward(/,/^}/{ s/^ *da\[3 \* H + j\] = .*//; s/^ *dc_prev\[j\] = .*/&\n        da[3 * H + j] = dc[j] * tanh(n[j]) * sigmoid(a[3 * H + j]) * (1 - sigmoid(a[3 * H + j]));/; }
