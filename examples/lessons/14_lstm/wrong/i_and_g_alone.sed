# i and g exchanged.
s/dc\[j\] \* g \* i \* (1 - i)/dc[j] * i * i * (1 - i)/; s/dc\[j\] \* i \* (1 - g/dc[j] * g * (1 - g/
