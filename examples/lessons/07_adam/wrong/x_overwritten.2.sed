# x is the step, in Adam.
s/x\[i\] -= lr \* m_hat/x[i] = -lr * m_hat/
