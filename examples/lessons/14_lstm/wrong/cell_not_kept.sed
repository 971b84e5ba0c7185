# No f c.
s/sigmoid(a\[H + j\]) \* c_prev\[j\] + //
