# The root of the gradient.
s/sqrt(v_hat)/sqrt(*k > 1 ? -v_hat : v_hat)/
