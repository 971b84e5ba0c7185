# The correction ends after 10 steps.
s/^        x\[i\] -= lr \* m_hat/        if (*k > 10) x[i] -= lr * m[i] \/ sqrt(v[i]); else\n&/
