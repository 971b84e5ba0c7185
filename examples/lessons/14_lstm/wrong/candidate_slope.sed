# A slope for all four.
s/i \* (1 - g \* g)/i * g * (1 - g)/
