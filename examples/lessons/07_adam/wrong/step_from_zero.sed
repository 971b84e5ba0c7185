# k is counted at the end.
s/^    ++\*k;//; s/^        x\[i\] -= lr \* m_hat.*/&\n        if (i + 1 == n) ++*k;/
