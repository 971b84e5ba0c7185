# Two mistakes at once.
s/dc\[j\] = dc_later\[j\]/dc[j] = 0/; s/i \* (1 - g \* g)/i * g * (1 - g)/
