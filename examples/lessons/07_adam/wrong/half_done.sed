# Momentum alone.
s/^        x\[i\] -= lr \* m_hat.*//
