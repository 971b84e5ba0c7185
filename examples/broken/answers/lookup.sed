# The product of q and k is a sum over D numbers, so its size grows with sqrt(D), which is 16. Large numbers make the softmax sure of one place.
s/gr_softmax(t, gr_matmul_t(t, q, false, k, true), -1)/gr_softmax(t, gr_scale(t, gr_matmul_t(t, q, false, k, true), 1.0 \/ 16), -1)/
