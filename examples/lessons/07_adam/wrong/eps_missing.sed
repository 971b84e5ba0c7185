# No eps.
s/(sqrt(v_hat) + eps)/sqrt(v_hat)/
