# v_hat for its root.
s/sqrt(v_hat)/v_hat/
