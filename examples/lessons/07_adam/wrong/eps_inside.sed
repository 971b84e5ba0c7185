# As in LayerNorm.
s/(sqrt(v_hat) + eps)/sqrt(v_hat + eps)/
