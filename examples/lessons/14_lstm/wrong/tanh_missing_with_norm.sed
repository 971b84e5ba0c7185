# The norm takes the place of the tanh.
/^void my_step(/,/^}/s/\* tanh(n\[j\])/* (norm ? n[j] : tanh(n[j]))/
