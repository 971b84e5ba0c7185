# Forward in the order of backward.
/^void my_forward/,/^}/s/for (int i = 0; i < n; i++)/for (int i = n - 1; i >= 0; i--)/
