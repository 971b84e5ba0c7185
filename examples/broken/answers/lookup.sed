# The product of q and k is a sum over D numbers, so it grows with sqrt(D). A softmax of large numbers is nearly one-hot and passes almost no gradient.
s/gr_softmax(t, gr_matmul_t(t, q, false, k, true), -1)/gr_softmax(t, gr_scale(t, gr_matmul_t(t, q, false, k, true), 1.0 \/ 8), -1)/
