# The brackets are forgotten in a step that lr multiplies.
s/lr \* m_hat \/ (sqrt(v_hat) + eps)/lr * (m_hat \/ sqrt(v_hat) + eps)/
