# The brackets are forgotten.
s/\/ (sqrt(v_hat) + eps)/\/ sqrt(v_hat) + eps/; s/x\[i\] -= \(lr \* m_hat.*\);/x[i] -= \1;/
