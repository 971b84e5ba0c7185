# Uphill.
s/x\[i\] -= lr \* m_hat/x[i] += lr * m_hat/
