# Only the keys that the query sees are written.
s/^        for (int j = 0; j < T; j++) p\[i \* T + j\] = j <= i ? p\[i \* T + j\] \/ sum : 0;/        for (int j = 0; j <= i; j++) p[i * T + j] \/= sum;/
