# g for m_hat.
s/lr \* m_hat/lr * g[i]/
