# m is not written back.
s/m\[i\] = beta1 \* m\[i\] + \(.*\);/const double now = beta1 * m[i] + \1;/; s/m_hat = m\[i\]/m_hat = now/
