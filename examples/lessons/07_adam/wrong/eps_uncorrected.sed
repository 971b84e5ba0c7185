# The second form of the paper, with eps as it is.
s/^        x\[i\] -= lr \* m_hat.*/        x[i] -= lr * m_hat * sqrt(1 - pow(beta2, *k)) \/ (sqrt(v[i]) + eps);/
