# g is squared in place.
s/^        x\[i\] -= lr \* m_hat.*/&\n        ((double *)g)[i] *= g[i];/
