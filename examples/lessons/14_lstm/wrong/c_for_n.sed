# c for n.
/^void my_step_backward(/,/^}/s/layer_norm_backward(H, n,/layer_norm_backward(H, c,/
