# The corrected values are kept.
s/^        x\[i\] -= lr \* m_hat/        m[i] = m_hat, v[i] = v_hat;\n&/
