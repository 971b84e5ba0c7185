# No slope.
s/dc\[j\] \* i \* (1 - g \* g)/dc[j] * i/
