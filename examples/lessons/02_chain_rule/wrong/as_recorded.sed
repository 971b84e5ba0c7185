# The list from its beginning.
s/for (int i = n - 1; i >= 0; i--)/for (int i = 0; i < n; i++)/
