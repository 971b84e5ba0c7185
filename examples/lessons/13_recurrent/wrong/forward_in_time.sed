# The loop of forward.
s/for (int t = T; t >= 1; t--)/for (int t = 1; t <= T; t++)/
